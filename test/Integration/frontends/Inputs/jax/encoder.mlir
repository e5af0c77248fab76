#map = affine_map<(d0, d1) -> ()>
#map1 = affine_map<(d0, d1) -> (d0, d1)>
#map2 = affine_map<(d0, d1, d2) -> (d1, d0, d2)>
#map3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#map4 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d3)>
#map5 = affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>
#map6 = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2)>
#map7 = affine_map<(d0, d1, d2) -> ()>
#map8 = affine_map<(d0, d1, d2) -> (d0, d1)>
#map9 = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#map10 = affine_map<(d0, d1) -> (d0)>
#map11 = affine_map<(d0, d1) -> (d0, 0)>
#map12 = affine_map<(d0, d1) -> (d1)>
#map13 = affine_map<(d0, d1) -> (0, d1)>
module @jit_encoder {
  func.func public @main(%arg0: tensor<16x32xf32>, %arg1: tensor<12x32x32xf32>, %arg2: tensor<12x32x32xf32>, %arg3: tensor<12x32x32xf32>, %arg4: tensor<12x32x32xf32>, %arg5: tensor<12x32x64xf32>, %arg6: tensor<12x64xf32>, %arg7: tensor<12x64x32xf32>, %arg8: tensor<12x32xf32>, %arg9: tensor<12x32xf32>, %arg10: tensor<12x32xf32>, %arg11: tensor<12x32xf32>, %arg12: tensor<12x32xf32>) -> tensor<16x32xf32> {
    %extracted_slice = tensor.extract_slice %arg1[0, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed = tensor.collapse_shape %extracted_slice [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_0 = tensor.extract_slice %arg2[0, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_1 = tensor.collapse_shape %extracted_slice_0 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_2 = tensor.extract_slice %arg3[0, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_3 = tensor.collapse_shape %extracted_slice_2 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_4 = tensor.extract_slice %arg4[0, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_5 = tensor.collapse_shape %extracted_slice_4 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_6 = tensor.extract_slice %arg5[0, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_7 = tensor.collapse_shape %extracted_slice_6 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_8 = tensor.extract_slice %arg6[0, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_9 = tensor.collapse_shape %extracted_slice_8 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_10 = tensor.extract_slice %arg7[0, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_11 = tensor.collapse_shape %extracted_slice_10 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_12 = tensor.extract_slice %arg8[0, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_13 = tensor.collapse_shape %extracted_slice_12 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_14 = tensor.extract_slice %arg9[0, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_15 = tensor.collapse_shape %extracted_slice_14 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_16 = tensor.extract_slice %arg10[0, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_17 = tensor.collapse_shape %extracted_slice_16 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_18 = tensor.extract_slice %arg11[0, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_19 = tensor.collapse_shape %extracted_slice_18 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_20 = tensor.extract_slice %arg12[0, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_21 = tensor.collapse_shape %extracted_slice_20 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %0 = call @encoder_layer(%arg0, %collapsed, %collapsed_1, %collapsed_3, %collapsed_5, %collapsed_7, %collapsed_9, %collapsed_11, %collapsed_13, %collapsed_15, %collapsed_17, %collapsed_19, %collapsed_21) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_22 = tensor.extract_slice %arg1[1, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_23 = tensor.collapse_shape %extracted_slice_22 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_24 = tensor.extract_slice %arg2[1, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_25 = tensor.collapse_shape %extracted_slice_24 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_26 = tensor.extract_slice %arg3[1, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_27 = tensor.collapse_shape %extracted_slice_26 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_28 = tensor.extract_slice %arg4[1, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_29 = tensor.collapse_shape %extracted_slice_28 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_30 = tensor.extract_slice %arg5[1, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_31 = tensor.collapse_shape %extracted_slice_30 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_32 = tensor.extract_slice %arg6[1, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_33 = tensor.collapse_shape %extracted_slice_32 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_34 = tensor.extract_slice %arg7[1, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_35 = tensor.collapse_shape %extracted_slice_34 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_36 = tensor.extract_slice %arg8[1, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_37 = tensor.collapse_shape %extracted_slice_36 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_38 = tensor.extract_slice %arg9[1, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_39 = tensor.collapse_shape %extracted_slice_38 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_40 = tensor.extract_slice %arg10[1, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_41 = tensor.collapse_shape %extracted_slice_40 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_42 = tensor.extract_slice %arg11[1, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_43 = tensor.collapse_shape %extracted_slice_42 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_44 = tensor.extract_slice %arg12[1, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_45 = tensor.collapse_shape %extracted_slice_44 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %1 = call @encoder_layer(%0, %collapsed_23, %collapsed_25, %collapsed_27, %collapsed_29, %collapsed_31, %collapsed_33, %collapsed_35, %collapsed_37, %collapsed_39, %collapsed_41, %collapsed_43, %collapsed_45) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_46 = tensor.extract_slice %arg1[2, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_47 = tensor.collapse_shape %extracted_slice_46 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_48 = tensor.extract_slice %arg2[2, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_49 = tensor.collapse_shape %extracted_slice_48 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_50 = tensor.extract_slice %arg3[2, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_51 = tensor.collapse_shape %extracted_slice_50 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_52 = tensor.extract_slice %arg4[2, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_53 = tensor.collapse_shape %extracted_slice_52 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_54 = tensor.extract_slice %arg5[2, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_55 = tensor.collapse_shape %extracted_slice_54 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_56 = tensor.extract_slice %arg6[2, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_57 = tensor.collapse_shape %extracted_slice_56 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_58 = tensor.extract_slice %arg7[2, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_59 = tensor.collapse_shape %extracted_slice_58 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_60 = tensor.extract_slice %arg8[2, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_61 = tensor.collapse_shape %extracted_slice_60 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_62 = tensor.extract_slice %arg9[2, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_63 = tensor.collapse_shape %extracted_slice_62 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_64 = tensor.extract_slice %arg10[2, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_65 = tensor.collapse_shape %extracted_slice_64 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_66 = tensor.extract_slice %arg11[2, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_67 = tensor.collapse_shape %extracted_slice_66 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_68 = tensor.extract_slice %arg12[2, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_69 = tensor.collapse_shape %extracted_slice_68 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %2 = call @encoder_layer(%1, %collapsed_47, %collapsed_49, %collapsed_51, %collapsed_53, %collapsed_55, %collapsed_57, %collapsed_59, %collapsed_61, %collapsed_63, %collapsed_65, %collapsed_67, %collapsed_69) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_70 = tensor.extract_slice %arg1[3, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_71 = tensor.collapse_shape %extracted_slice_70 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_72 = tensor.extract_slice %arg2[3, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_73 = tensor.collapse_shape %extracted_slice_72 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_74 = tensor.extract_slice %arg3[3, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_75 = tensor.collapse_shape %extracted_slice_74 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_76 = tensor.extract_slice %arg4[3, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_77 = tensor.collapse_shape %extracted_slice_76 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_78 = tensor.extract_slice %arg5[3, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_79 = tensor.collapse_shape %extracted_slice_78 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_80 = tensor.extract_slice %arg6[3, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_81 = tensor.collapse_shape %extracted_slice_80 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_82 = tensor.extract_slice %arg7[3, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_83 = tensor.collapse_shape %extracted_slice_82 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_84 = tensor.extract_slice %arg8[3, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_85 = tensor.collapse_shape %extracted_slice_84 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_86 = tensor.extract_slice %arg9[3, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_87 = tensor.collapse_shape %extracted_slice_86 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_88 = tensor.extract_slice %arg10[3, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_89 = tensor.collapse_shape %extracted_slice_88 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_90 = tensor.extract_slice %arg11[3, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_91 = tensor.collapse_shape %extracted_slice_90 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_92 = tensor.extract_slice %arg12[3, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_93 = tensor.collapse_shape %extracted_slice_92 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %3 = call @encoder_layer(%2, %collapsed_71, %collapsed_73, %collapsed_75, %collapsed_77, %collapsed_79, %collapsed_81, %collapsed_83, %collapsed_85, %collapsed_87, %collapsed_89, %collapsed_91, %collapsed_93) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_94 = tensor.extract_slice %arg1[4, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_95 = tensor.collapse_shape %extracted_slice_94 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_96 = tensor.extract_slice %arg2[4, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_97 = tensor.collapse_shape %extracted_slice_96 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_98 = tensor.extract_slice %arg3[4, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_99 = tensor.collapse_shape %extracted_slice_98 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_100 = tensor.extract_slice %arg4[4, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_101 = tensor.collapse_shape %extracted_slice_100 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_102 = tensor.extract_slice %arg5[4, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_103 = tensor.collapse_shape %extracted_slice_102 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_104 = tensor.extract_slice %arg6[4, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_105 = tensor.collapse_shape %extracted_slice_104 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_106 = tensor.extract_slice %arg7[4, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_107 = tensor.collapse_shape %extracted_slice_106 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_108 = tensor.extract_slice %arg8[4, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_109 = tensor.collapse_shape %extracted_slice_108 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_110 = tensor.extract_slice %arg9[4, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_111 = tensor.collapse_shape %extracted_slice_110 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_112 = tensor.extract_slice %arg10[4, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_113 = tensor.collapse_shape %extracted_slice_112 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_114 = tensor.extract_slice %arg11[4, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_115 = tensor.collapse_shape %extracted_slice_114 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_116 = tensor.extract_slice %arg12[4, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_117 = tensor.collapse_shape %extracted_slice_116 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %4 = call @encoder_layer(%3, %collapsed_95, %collapsed_97, %collapsed_99, %collapsed_101, %collapsed_103, %collapsed_105, %collapsed_107, %collapsed_109, %collapsed_111, %collapsed_113, %collapsed_115, %collapsed_117) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_118 = tensor.extract_slice %arg1[5, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_119 = tensor.collapse_shape %extracted_slice_118 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_120 = tensor.extract_slice %arg2[5, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_121 = tensor.collapse_shape %extracted_slice_120 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_122 = tensor.extract_slice %arg3[5, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_123 = tensor.collapse_shape %extracted_slice_122 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_124 = tensor.extract_slice %arg4[5, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_125 = tensor.collapse_shape %extracted_slice_124 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_126 = tensor.extract_slice %arg5[5, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_127 = tensor.collapse_shape %extracted_slice_126 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_128 = tensor.extract_slice %arg6[5, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_129 = tensor.collapse_shape %extracted_slice_128 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_130 = tensor.extract_slice %arg7[5, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_131 = tensor.collapse_shape %extracted_slice_130 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_132 = tensor.extract_slice %arg8[5, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_133 = tensor.collapse_shape %extracted_slice_132 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_134 = tensor.extract_slice %arg9[5, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_135 = tensor.collapse_shape %extracted_slice_134 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_136 = tensor.extract_slice %arg10[5, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_137 = tensor.collapse_shape %extracted_slice_136 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_138 = tensor.extract_slice %arg11[5, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_139 = tensor.collapse_shape %extracted_slice_138 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_140 = tensor.extract_slice %arg12[5, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_141 = tensor.collapse_shape %extracted_slice_140 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %5 = call @encoder_layer(%4, %collapsed_119, %collapsed_121, %collapsed_123, %collapsed_125, %collapsed_127, %collapsed_129, %collapsed_131, %collapsed_133, %collapsed_135, %collapsed_137, %collapsed_139, %collapsed_141) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_142 = tensor.extract_slice %arg1[6, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_143 = tensor.collapse_shape %extracted_slice_142 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_144 = tensor.extract_slice %arg2[6, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_145 = tensor.collapse_shape %extracted_slice_144 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_146 = tensor.extract_slice %arg3[6, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_147 = tensor.collapse_shape %extracted_slice_146 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_148 = tensor.extract_slice %arg4[6, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_149 = tensor.collapse_shape %extracted_slice_148 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_150 = tensor.extract_slice %arg5[6, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_151 = tensor.collapse_shape %extracted_slice_150 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_152 = tensor.extract_slice %arg6[6, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_153 = tensor.collapse_shape %extracted_slice_152 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_154 = tensor.extract_slice %arg7[6, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_155 = tensor.collapse_shape %extracted_slice_154 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_156 = tensor.extract_slice %arg8[6, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_157 = tensor.collapse_shape %extracted_slice_156 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_158 = tensor.extract_slice %arg9[6, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_159 = tensor.collapse_shape %extracted_slice_158 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_160 = tensor.extract_slice %arg10[6, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_161 = tensor.collapse_shape %extracted_slice_160 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_162 = tensor.extract_slice %arg11[6, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_163 = tensor.collapse_shape %extracted_slice_162 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_164 = tensor.extract_slice %arg12[6, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_165 = tensor.collapse_shape %extracted_slice_164 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %6 = call @encoder_layer(%5, %collapsed_143, %collapsed_145, %collapsed_147, %collapsed_149, %collapsed_151, %collapsed_153, %collapsed_155, %collapsed_157, %collapsed_159, %collapsed_161, %collapsed_163, %collapsed_165) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_166 = tensor.extract_slice %arg1[7, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_167 = tensor.collapse_shape %extracted_slice_166 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_168 = tensor.extract_slice %arg2[7, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_169 = tensor.collapse_shape %extracted_slice_168 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_170 = tensor.extract_slice %arg3[7, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_171 = tensor.collapse_shape %extracted_slice_170 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_172 = tensor.extract_slice %arg4[7, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_173 = tensor.collapse_shape %extracted_slice_172 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_174 = tensor.extract_slice %arg5[7, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_175 = tensor.collapse_shape %extracted_slice_174 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_176 = tensor.extract_slice %arg6[7, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_177 = tensor.collapse_shape %extracted_slice_176 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_178 = tensor.extract_slice %arg7[7, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_179 = tensor.collapse_shape %extracted_slice_178 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_180 = tensor.extract_slice %arg8[7, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_181 = tensor.collapse_shape %extracted_slice_180 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_182 = tensor.extract_slice %arg9[7, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_183 = tensor.collapse_shape %extracted_slice_182 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_184 = tensor.extract_slice %arg10[7, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_185 = tensor.collapse_shape %extracted_slice_184 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_186 = tensor.extract_slice %arg11[7, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_187 = tensor.collapse_shape %extracted_slice_186 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_188 = tensor.extract_slice %arg12[7, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_189 = tensor.collapse_shape %extracted_slice_188 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %7 = call @encoder_layer(%6, %collapsed_167, %collapsed_169, %collapsed_171, %collapsed_173, %collapsed_175, %collapsed_177, %collapsed_179, %collapsed_181, %collapsed_183, %collapsed_185, %collapsed_187, %collapsed_189) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_190 = tensor.extract_slice %arg1[8, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_191 = tensor.collapse_shape %extracted_slice_190 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_192 = tensor.extract_slice %arg2[8, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_193 = tensor.collapse_shape %extracted_slice_192 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_194 = tensor.extract_slice %arg3[8, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_195 = tensor.collapse_shape %extracted_slice_194 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_196 = tensor.extract_slice %arg4[8, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_197 = tensor.collapse_shape %extracted_slice_196 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_198 = tensor.extract_slice %arg5[8, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_199 = tensor.collapse_shape %extracted_slice_198 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_200 = tensor.extract_slice %arg6[8, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_201 = tensor.collapse_shape %extracted_slice_200 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_202 = tensor.extract_slice %arg7[8, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_203 = tensor.collapse_shape %extracted_slice_202 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_204 = tensor.extract_slice %arg8[8, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_205 = tensor.collapse_shape %extracted_slice_204 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_206 = tensor.extract_slice %arg9[8, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_207 = tensor.collapse_shape %extracted_slice_206 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_208 = tensor.extract_slice %arg10[8, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_209 = tensor.collapse_shape %extracted_slice_208 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_210 = tensor.extract_slice %arg11[8, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_211 = tensor.collapse_shape %extracted_slice_210 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_212 = tensor.extract_slice %arg12[8, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_213 = tensor.collapse_shape %extracted_slice_212 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %8 = call @encoder_layer(%7, %collapsed_191, %collapsed_193, %collapsed_195, %collapsed_197, %collapsed_199, %collapsed_201, %collapsed_203, %collapsed_205, %collapsed_207, %collapsed_209, %collapsed_211, %collapsed_213) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_214 = tensor.extract_slice %arg1[9, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_215 = tensor.collapse_shape %extracted_slice_214 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_216 = tensor.extract_slice %arg2[9, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_217 = tensor.collapse_shape %extracted_slice_216 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_218 = tensor.extract_slice %arg3[9, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_219 = tensor.collapse_shape %extracted_slice_218 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_220 = tensor.extract_slice %arg4[9, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_221 = tensor.collapse_shape %extracted_slice_220 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_222 = tensor.extract_slice %arg5[9, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_223 = tensor.collapse_shape %extracted_slice_222 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_224 = tensor.extract_slice %arg6[9, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_225 = tensor.collapse_shape %extracted_slice_224 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_226 = tensor.extract_slice %arg7[9, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_227 = tensor.collapse_shape %extracted_slice_226 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_228 = tensor.extract_slice %arg8[9, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_229 = tensor.collapse_shape %extracted_slice_228 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_230 = tensor.extract_slice %arg9[9, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_231 = tensor.collapse_shape %extracted_slice_230 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_232 = tensor.extract_slice %arg10[9, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_233 = tensor.collapse_shape %extracted_slice_232 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_234 = tensor.extract_slice %arg11[9, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_235 = tensor.collapse_shape %extracted_slice_234 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_236 = tensor.extract_slice %arg12[9, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_237 = tensor.collapse_shape %extracted_slice_236 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %9 = call @encoder_layer(%8, %collapsed_215, %collapsed_217, %collapsed_219, %collapsed_221, %collapsed_223, %collapsed_225, %collapsed_227, %collapsed_229, %collapsed_231, %collapsed_233, %collapsed_235, %collapsed_237) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_238 = tensor.extract_slice %arg1[10, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_239 = tensor.collapse_shape %extracted_slice_238 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_240 = tensor.extract_slice %arg2[10, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_241 = tensor.collapse_shape %extracted_slice_240 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_242 = tensor.extract_slice %arg3[10, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_243 = tensor.collapse_shape %extracted_slice_242 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_244 = tensor.extract_slice %arg4[10, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_245 = tensor.collapse_shape %extracted_slice_244 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_246 = tensor.extract_slice %arg5[10, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_247 = tensor.collapse_shape %extracted_slice_246 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_248 = tensor.extract_slice %arg6[10, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_249 = tensor.collapse_shape %extracted_slice_248 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_250 = tensor.extract_slice %arg7[10, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_251 = tensor.collapse_shape %extracted_slice_250 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_252 = tensor.extract_slice %arg8[10, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_253 = tensor.collapse_shape %extracted_slice_252 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_254 = tensor.extract_slice %arg9[10, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_255 = tensor.collapse_shape %extracted_slice_254 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_256 = tensor.extract_slice %arg10[10, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_257 = tensor.collapse_shape %extracted_slice_256 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_258 = tensor.extract_slice %arg11[10, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_259 = tensor.collapse_shape %extracted_slice_258 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_260 = tensor.extract_slice %arg12[10, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_261 = tensor.collapse_shape %extracted_slice_260 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %10 = call @encoder_layer(%9, %collapsed_239, %collapsed_241, %collapsed_243, %collapsed_245, %collapsed_247, %collapsed_249, %collapsed_251, %collapsed_253, %collapsed_255, %collapsed_257, %collapsed_259, %collapsed_261) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    %extracted_slice_262 = tensor.extract_slice %arg1[11, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_263 = tensor.collapse_shape %extracted_slice_262 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_264 = tensor.extract_slice %arg2[11, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_265 = tensor.collapse_shape %extracted_slice_264 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_266 = tensor.extract_slice %arg3[11, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_267 = tensor.collapse_shape %extracted_slice_266 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_268 = tensor.extract_slice %arg4[11, 0, 0] [1, 32, 32] [1, 1, 1] : tensor<12x32x32xf32> to tensor<1x32x32xf32>
    %collapsed_269 = tensor.collapse_shape %extracted_slice_268 [[0, 1], [2]] : tensor<1x32x32xf32> into tensor<32x32xf32>
    %extracted_slice_270 = tensor.extract_slice %arg5[11, 0, 0] [1, 32, 64] [1, 1, 1] : tensor<12x32x64xf32> to tensor<1x32x64xf32>
    %collapsed_271 = tensor.collapse_shape %extracted_slice_270 [[0, 1], [2]] : tensor<1x32x64xf32> into tensor<32x64xf32>
    %extracted_slice_272 = tensor.extract_slice %arg6[11, 0] [1, 64] [1, 1] : tensor<12x64xf32> to tensor<1x64xf32>
    %collapsed_273 = tensor.collapse_shape %extracted_slice_272 [[0, 1]] : tensor<1x64xf32> into tensor<64xf32>
    %extracted_slice_274 = tensor.extract_slice %arg7[11, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<12x64x32xf32> to tensor<1x64x32xf32>
    %collapsed_275 = tensor.collapse_shape %extracted_slice_274 [[0, 1], [2]] : tensor<1x64x32xf32> into tensor<64x32xf32>
    %extracted_slice_276 = tensor.extract_slice %arg8[11, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_277 = tensor.collapse_shape %extracted_slice_276 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_278 = tensor.extract_slice %arg9[11, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_279 = tensor.collapse_shape %extracted_slice_278 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_280 = tensor.extract_slice %arg10[11, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_281 = tensor.collapse_shape %extracted_slice_280 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_282 = tensor.extract_slice %arg11[11, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_283 = tensor.collapse_shape %extracted_slice_282 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %extracted_slice_284 = tensor.extract_slice %arg12[11, 0] [1, 32] [1, 1] : tensor<12x32xf32> to tensor<1x32xf32>
    %collapsed_285 = tensor.collapse_shape %extracted_slice_284 [[0, 1]] : tensor<1x32xf32> into tensor<32xf32>
    %11 = call @encoder_layer(%10, %collapsed_263, %collapsed_265, %collapsed_267, %collapsed_269, %collapsed_271, %collapsed_273, %collapsed_275, %collapsed_277, %collapsed_279, %collapsed_281, %collapsed_283, %collapsed_285) : (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64x32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<16x32xf32>
    return %11 : tensor<16x32xf32>
  }
  func.func private @encoder_layer(%arg0: tensor<16x32xf32>, %arg1: tensor<32x32xf32>, %arg2: tensor<32x32xf32>, %arg3: tensor<32x32xf32>, %arg4: tensor<32x32xf32>, %arg5: tensor<32x64xf32>, %arg6: tensor<64xf32>, %arg7: tensor<64x32xf32>, %arg8: tensor<32xf32>, %arg9: tensor<32xf32>, %arg10: tensor<32xf32>, %arg11: tensor<32xf32>, %arg12: tensor<32xf32>) -> tensor<16x32xf32> {
    %cst = arith.constant 0xFF800000 : f32
    %cst_0 = arith.constant 0.000000e+00 : f32
    %cst_1 = arith.constant dense<1.250000e-01> : tensor<f32>
    %cst_2 = arith.constant dense<5.000000e-01> : tensor<f32>
    %cst_3 = arith.constant dense<1.000000e+00> : tensor<f32>
    %cst_4 = arith.constant dense<0.797884583> : tensor<f32>
    %cst_5 = arith.constant dense<4.471500e-02> : tensor<f32>
    %cst_6 = arith.constant dense<9.99999974E-6> : tensor<f32>
    %cst_7 = arith.constant dense<3.200000e+01> : tensor<f32>
    %cst_8 = arith.constant dense<0xFF800000> : tensor<f32>
    %cst_9 = arith.constant dense<0.353553385> : tensor<f32>
    %cst_10 = arith.constant dense<0.176776692> : tensor<f32>
    %0 = tensor.empty() : tensor<16x32xf32>
    %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %2 = linalg.matmul ins(%arg0, %arg1 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %3 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_10 : tensor<f32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %4 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%2, %3 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %expanded = tensor.expand_shape %4 [[0], [1, 2]] output_shape [16, 4, 8] : tensor<16x32xf32> into tensor<16x4x8xf32>
    %5 = tensor.empty() : tensor<4x16x8xf32>
    %6 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded : tensor<16x4x8xf32>) outs(%5 : tensor<4x16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x8xf32>
    %7 = linalg.matmul ins(%arg0, %arg2 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %8 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%7, %3 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %expanded_11 = tensor.expand_shape %8 [[0], [1, 2]] output_shape [16, 4, 8] : tensor<16x32xf32> into tensor<16x4x8xf32>
    %9 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_11 : tensor<16x4x8xf32>) outs(%5 : tensor<4x16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x8xf32>
    %10 = linalg.matmul ins(%arg0, %arg3 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %11 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%10, %3 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %expanded_12 = tensor.expand_shape %11 [[0], [1, 2]] output_shape [16, 4, 8] : tensor<16x32xf32> into tensor<16x4x8xf32>
    %12 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%expanded_12 : tensor<16x4x8xf32>) outs(%5 : tensor<4x16x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x8xf32>
    %13 = tensor.empty() : tensor<4x16x16xf32>
    %14 = linalg.fill ins(%cst_0 : f32) outs(%13 : tensor<4x16x16xf32>) -> tensor<4x16x16xf32>
    %15 = linalg.generic {indexing_maps = [#map4, #map5, #map6], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%6, %9 : tensor<4x16x8xf32>, tensor<4x16x8xf32>) outs(%14 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      %114 = arith.addf %out, %113 : f32
      linalg.yield %114 : f32
    } -> tensor<4x16x16xf32>
    %16 = linalg.generic {indexing_maps = [#map7, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%cst_9 : tensor<f32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x16xf32>
    %17 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%15, %16 : tensor<4x16x16xf32>, tensor<4x16x16xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<4x16x16xf32>
    %18 = tensor.empty() : tensor<4x16xf32>
    %19 = linalg.fill ins(%cst : f32) outs(%18 : tensor<4x16xf32>) -> tensor<4x16xf32>
    %20 = linalg.generic {indexing_maps = [#map3, #map8], iterator_types = ["parallel", "parallel", "reduction"]} ins(%17 : tensor<4x16x16xf32>) outs(%19 : tensor<4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = arith.maximumf %out, %in : f32
      linalg.yield %113 : f32
    } -> tensor<4x16xf32>
    %21 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_8 : tensor<f32>) outs(%18 : tensor<4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16xf32>
    %22 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%21, %20 : tensor<4x16xf32>, tensor<4x16xf32>) outs(%18 : tensor<4x16xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.maximumf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<4x16xf32>
    %23 = tensor.empty() : tensor<4x16x1xf32>
    %24 = linalg.generic {indexing_maps = [#map8, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%22 : tensor<4x16xf32>) outs(%23 : tensor<4x16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x1xf32>
    %25 = linalg.generic {indexing_maps = [#map9, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%24 : tensor<4x16x1xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x16xf32>
    %26 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%17, %25 : tensor<4x16x16xf32>, tensor<4x16x16xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.subf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<4x16x16xf32>
    %27 = linalg.generic {indexing_maps = [#map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%26 : tensor<4x16x16xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = math.exp %in : f32
      linalg.yield %113 : f32
    } -> tensor<4x16x16xf32>
    %28 = linalg.fill ins(%cst_0 : f32) outs(%18 : tensor<4x16xf32>) -> tensor<4x16xf32>
    %29 = linalg.generic {indexing_maps = [#map3, #map8], iterator_types = ["parallel", "parallel", "reduction"]} ins(%27 : tensor<4x16x16xf32>) outs(%28 : tensor<4x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = arith.addf %out, %in : f32
      linalg.yield %113 : f32
    } -> tensor<4x16xf32>
    %30 = linalg.generic {indexing_maps = [#map8, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%29 : tensor<4x16xf32>) outs(%23 : tensor<4x16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x1xf32>
    %31 = linalg.generic {indexing_maps = [#map9, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%30 : tensor<4x16x1xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<4x16x16xf32>
    %32 = linalg.generic {indexing_maps = [#map3, #map3, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%27, %31 : tensor<4x16x16xf32>, tensor<4x16x16xf32>) outs(%13 : tensor<4x16x16xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.divf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<4x16x16xf32>
    %33 = linalg.fill ins(%cst_0 : f32) outs(%5 : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
    %34 = linalg.batch_matmul ins(%32, %12 : tensor<4x16x16xf32>, tensor<4x16x8xf32>) outs(%33 : tensor<4x16x8xf32>) -> tensor<4x16x8xf32>
    %35 = tensor.empty() : tensor<16x4x8xf32>
    %36 = linalg.generic {indexing_maps = [#map2, #map3], iterator_types = ["parallel", "parallel", "parallel"]} ins(%34 : tensor<4x16x8xf32>) outs(%35 : tensor<16x4x8xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x4x8xf32>
    %collapsed = tensor.collapse_shape %36 [[0], [1, 2]] : tensor<16x4x8xf32> into tensor<16x32xf32>
    %37 = linalg.matmul ins(%collapsed, %arg4 : tensor<16x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %38 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%37, %3 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %39 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg0, %38 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %40 = tensor.empty() : tensor<16xf32>
    %41 = linalg.fill ins(%cst_0 : f32) outs(%40 : tensor<16xf32>) -> tensor<16xf32>
    %42 = linalg.generic {indexing_maps = [#map1, #map10], iterator_types = ["parallel", "reduction"]} ins(%39 : tensor<16x32xf32>) outs(%41 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = arith.addf %out, %in : f32
      linalg.yield %113 : f32
    } -> tensor<16xf32>
    %43 = tensor.empty() : tensor<16x1xf32>
    %44 = linalg.generic {indexing_maps = [#map10, #map1], iterator_types = ["parallel", "parallel"]} ins(%42 : tensor<16xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x1xf32>
    %45 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_7 : tensor<f32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x1xf32>
    %46 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%44, %45 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.divf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x1xf32>
    %47 = linalg.generic {indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel"]} ins(%46 : tensor<16x1xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %48 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%39, %47 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.subf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %49 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%48, %48 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %50 = linalg.generic {indexing_maps = [#map1, #map10], iterator_types = ["parallel", "reduction"]} ins(%49 : tensor<16x32xf32>) outs(%41 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = arith.addf %out, %in : f32
      linalg.yield %113 : f32
    } -> tensor<16xf32>
    %51 = linalg.generic {indexing_maps = [#map10, #map1], iterator_types = ["parallel", "parallel"]} ins(%50 : tensor<16xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x1xf32>
    %52 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%51, %45 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.divf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x1xf32>
    %53 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_6 : tensor<f32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x1xf32>
    %54 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%52, %53 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x1xf32>
    %55 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%54 : tensor<16x1xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = math.rsqrt %in : f32
      linalg.yield %113 : f32
    } -> tensor<16x1xf32>
    %56 = linalg.generic {indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel"]} ins(%55 : tensor<16x1xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %57 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%48, %56 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %58 = tensor.empty() : tensor<1x32xf32>
    %59 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg9 : tensor<32xf32>) outs(%58 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32xf32>
    %60 = linalg.generic {indexing_maps = [#map13, #map1], iterator_types = ["parallel", "parallel"]} ins(%59 : tensor<1x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %61 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%57, %60 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %62 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg10 : tensor<32xf32>) outs(%58 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32xf32>
    %63 = linalg.generic {indexing_maps = [#map13, #map1], iterator_types = ["parallel", "parallel"]} ins(%62 : tensor<1x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %64 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%61, %63 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %65 = tensor.empty() : tensor<16x64xf32>
    %66 = linalg.fill ins(%cst_0 : f32) outs(%65 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %67 = linalg.matmul ins(%64, %arg5 : tensor<16x32xf32>, tensor<32x64xf32>) outs(%66 : tensor<16x64xf32>) -> tensor<16x64xf32>
    %68 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_10 : tensor<f32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x64xf32>
    %69 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%67, %68 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %70 = tensor.empty() : tensor<1x64xf32>
    %71 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg6 : tensor<64xf32>) outs(%70 : tensor<1x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x64xf32>
    %72 = linalg.generic {indexing_maps = [#map13, #map1], iterator_types = ["parallel", "parallel"]} ins(%71 : tensor<1x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x64xf32>
    %73 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%69, %72 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %74 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%73, %73 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %75 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%74, %73 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %76 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_5 : tensor<f32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x64xf32>
    %77 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%76, %75 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %78 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%73, %77 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %79 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_4 : tensor<f32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x64xf32>
    %80 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%79, %78 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %81 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%80 : tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = math.tanh %in : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %82 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_3 : tensor<f32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x64xf32>
    %83 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%82, %81 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %84 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_2 : tensor<f32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x64xf32>
    %85 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%84, %83 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %86 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%73, %85 : tensor<16x64xf32>, tensor<16x64xf32>) outs(%65 : tensor<16x64xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x64xf32>
    %87 = linalg.matmul ins(%86, %arg7 : tensor<16x64xf32>, tensor<64x32xf32>) outs(%1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %88 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%cst_1 : tensor<f32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %89 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%87, %88 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %90 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg8 : tensor<32xf32>) outs(%58 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32xf32>
    %91 = linalg.generic {indexing_maps = [#map13, #map1], iterator_types = ["parallel", "parallel"]} ins(%90 : tensor<1x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %92 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%89, %91 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %93 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%64, %92 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %94 = linalg.generic {indexing_maps = [#map1, #map10], iterator_types = ["parallel", "reduction"]} ins(%93 : tensor<16x32xf32>) outs(%41 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = arith.addf %out, %in : f32
      linalg.yield %113 : f32
    } -> tensor<16xf32>
    %95 = linalg.generic {indexing_maps = [#map10, #map1], iterator_types = ["parallel", "parallel"]} ins(%94 : tensor<16xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x1xf32>
    %96 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%95, %45 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.divf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x1xf32>
    %97 = linalg.generic {indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel"]} ins(%96 : tensor<16x1xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %98 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%93, %97 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.subf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %99 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%98, %98 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %100 = linalg.generic {indexing_maps = [#map1, #map10], iterator_types = ["parallel", "reduction"]} ins(%99 : tensor<16x32xf32>) outs(%41 : tensor<16xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = arith.addf %out, %in : f32
      linalg.yield %113 : f32
    } -> tensor<16xf32>
    %101 = linalg.generic {indexing_maps = [#map10, #map1], iterator_types = ["parallel", "parallel"]} ins(%100 : tensor<16xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x1xf32>
    %102 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%101, %45 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.divf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x1xf32>
    %103 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%102, %53 : tensor<16x1xf32>, tensor<16x1xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x1xf32>
    %104 = linalg.generic {indexing_maps = [#map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%103 : tensor<16x1xf32>) outs(%43 : tensor<16x1xf32>) {
    ^bb0(%in: f32, %out: f32):
      %113 = math.rsqrt %in : f32
      linalg.yield %113 : f32
    } -> tensor<16x1xf32>
    %105 = linalg.generic {indexing_maps = [#map11, #map1], iterator_types = ["parallel", "parallel"]} ins(%104 : tensor<16x1xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %106 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%98, %105 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %107 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg11 : tensor<32xf32>) outs(%58 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32xf32>
    %108 = linalg.generic {indexing_maps = [#map13, #map1], iterator_types = ["parallel", "parallel"]} ins(%107 : tensor<1x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %109 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%106, %108 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.mulf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    %110 = linalg.generic {indexing_maps = [#map12, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg12 : tensor<32xf32>) outs(%58 : tensor<1x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<1x32xf32>
    %111 = linalg.generic {indexing_maps = [#map13, #map1], iterator_types = ["parallel", "parallel"]} ins(%110 : tensor<1x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %out: f32):
      linalg.yield %in : f32
    } -> tensor<16x32xf32>
    %112 = linalg.generic {indexing_maps = [#map1, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%109, %111 : tensor<16x32xf32>, tensor<16x32xf32>) outs(%0 : tensor<16x32xf32>) {
    ^bb0(%in: f32, %in_13: f32, %out: f32):
      %113 = arith.addf %in, %in_13 : f32
      linalg.yield %113 : f32
    } -> tensor<16x32xf32>
    return %112 : tensor<16x32xf32>
  }
}
